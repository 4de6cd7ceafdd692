"""What speaks to providers: one interface, a driver for each kind of provider, and a simulated cloud to try it on."""
