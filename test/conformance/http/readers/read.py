"""Reads the bytes of connections as three servers written in Python do: h11, gunicorn and waitress.

One JSON string a line, base64, comes in; one object a line goes out: reader -> {messages, refusal, closed}.
"""

import base64
import json
import sys

import h11
from gunicorn.config import Config
from gunicorn.http.parser import RequestParser
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser


def message(start, target, host, body):
    return {"start": start, "target": target, "host": host, "body": base64.b64encode(body).decode()}


def text(value):
    return value if isinstance(value, str) else bytes(value).decode("latin1")


def read_h11(data, messages):
    while data:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        connection.receive_data(data)
        head = connection.next_event()
        if head is h11.NEED_DATA:
            break
        body = b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return None, False
            if isinstance(event, h11.EndOfMessage):
                break
            body += event.data
        host = dict(head.headers).get(b"host", b"")
        messages.append(message(text(head.method), text(head.target), text(host), body))
        if connection.their_state is h11.MUST_CLOSE:
            return None, True
        # Told of no answer, it says nothing of the next request: a new one reads the rest.
        data = connection.trailing_data[0]
    return None, False


def read_gunicorn(data, messages):
    parser = RequestParser(Config(), [data], ("127.0.0.1", 1))
    for request in parser:
        body = request.body.read()
        host = next((value for name, value in request.headers if name.upper() == "HOST"), "")
        messages.append(message(request.method, request.uri, host, body))
        if request.should_close():
            return None, True
    return None, False


def read_waitress(data, messages):
    while data:
        parser = HTTPRequestParser(Adjustments())
        taken = 0
        while not parser.completed and taken < len(data):
            count = parser.received(data[taken:])
            if count == 0:
                break
            taken += count
        if parser.error is not None:
            return str(parser.error.reason), False
        if not parser.completed:
            return None, False
        data = data[taken:]
        if parser.empty:
            continue
        body = parser.get_body_stream().read()
        target = parser.first_line.split(b" ")[1]
        messages.append(message(text(parser.command), text(target), parser.headers.get("HOST", ""), body))
        if parser.connection_close:
            return None, True
    return None, False


READERS = {"h11": read_h11, "gunicorn": read_gunicorn, "waitress": read_waitress}



for line in sys.stdin:
    data = base64.b64decode(json.loads(line))
    result = {}
    for name, reader in READERS.items():
        messages = []
        try:
            refusal, closed = reader(data, messages)
        except Exception as error:  # Whatever a server throws here, it does not take the message.
            refusal, closed = f"{type(error).__name__}: {error}", False
        result[name] = {"messages": messages, "refusal": refusal, "closed": closed}
    print(json.dumps(result), flush=True)
