"""The cluster that simulations and generated histories share: its state and its leader's memory."""
