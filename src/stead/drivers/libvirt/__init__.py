"""libvirt, for the private cloud: machines, their disks, cloudspaces, images and the nodes that carry them."""
