"""Run the command without its imports: a server has imported everything and forks for each run.

``python -I -S tests/relay.py SOCKET ARGUMENT...`` replaces ``python -m derivlint ARGUMENT...``. It passes its streams,
folder and environment to the server, and exits with the status of the fork; if it is killed, so is the fork. Tests of
process startup do not use it.
"""

from __future__ import annotations

import json
import os
import socket
import sys

#: The number of bytes of the message length and of the exit status.
SIZE = 8


def main() -> None:
    """Pass everything to the server and wait."""
    path, *arguments = sys.argv[1:]
    message = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [len(message).to_bytes(SIZE, "big")], [0, 1, 2])
        connection.sendall(message)
        # close the pipes, which end with the fork
        for number in (0, 1, 2):
            os.close(number)
        status = connection.recv(SIZE)
    os._exit(int.from_bytes(status, "big") if status else 1)


if __name__ == "__main__":
    main()
