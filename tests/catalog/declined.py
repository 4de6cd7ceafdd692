"""What a VM does where its provider rejected an action without any effect: rows that the document does not have."""

# An addition of ours: what the provider rejects without any effect leaves the VM where it came from.
DECLINED = """
Suspending   declined  suspend    agent  Running/Suspended/Undefined
Resuming     declined  resume     agent  Suspended/Running/Undefined
Rebooting    declined  reboot     agent  Running/Suspended/Undefined
Terminating  declined  terminate  agent  Running/Suspended/Undefined/Failed
Terminating  declined  refine     agent  Failed/Undefined
Terminating  declined  remove     agent  Running/Suspended/Undefined/Failed/Terminated
"""
