"""How long may a fit of an entered method take, unless the command says otherwise?"""

TIMEOUT = 10.0  #: minutes of a fit
