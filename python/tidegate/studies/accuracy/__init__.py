"""How near packets are to the models' equilibria, and whether a warning says where they are not."""
