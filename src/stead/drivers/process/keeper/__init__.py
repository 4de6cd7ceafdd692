"""What runs in the process of a keeper, of which every app has one.

`program` is what a keeper does, `launch` what a fork of it does to become the app. Only the standard library is used
here, and little of it, since all that is read is read for every app.
"""
