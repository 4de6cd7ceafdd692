"""The controller: lets changes in, carries them on, and mends what is out of order."""
