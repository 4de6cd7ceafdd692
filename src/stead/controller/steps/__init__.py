"""Steps of lifecycles that the controller itself carries out, one file each."""
