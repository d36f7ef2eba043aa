"""How a rule that is broken is shown: a small case, saved, with what it rests on."""
