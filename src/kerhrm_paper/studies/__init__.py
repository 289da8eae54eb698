"""What was measured besides the tables of the paper: docs/studies.md.

``registry`` declares the studies, ``study`` says what one consists of, and each module
that is called like a study ends with its ``STUDY``.
"""
