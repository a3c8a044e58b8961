"""How proposals come about: an ordered list of stages. All strategies meet the same gate and review."""
