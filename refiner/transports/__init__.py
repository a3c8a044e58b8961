"""Ways to get a model's reply: over HTTP, from a person's or an agent's hand, from a recording.

No prompts are made here. What a reply means, and whether it is any good, is the analyst's business.
"""

from refiner.transports.base import Reply, Request, Transport

__all__ = ["Reply", "Request", "Transport"]
