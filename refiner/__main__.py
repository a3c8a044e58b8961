"""`python -m refiner` is the command `refiner`."""

import sys

from refiner.cli import main

sys.exit(main())
