"""Writes sigV4.json: random requests with the signatures of botocore (pip install botocore)."""

import datetime
import hashlib
import json
import random
import sys

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

SEGMENTS = ["a", "B", "%20", "%2F", "~", "-", "_", ".", "%C3%A9", "model:0", "(x)", "'q'", "*", "!", "@", "$", ",", ";"]
# S3 reads a path as it is, so botocore leaves its encoding to the caller.
S3_SEGMENTS = ["a", "B", "%20", "~", "-", "_", ".", "%C3%A9", "x1", "%3A", "%2B", "%28"]
QUERY = ["a", "b", "A", "%20", "~", "1", "%2F", "%3D", "-", "_"]

random.seed(4)
at = datetime.datetime(2026, 3, 4, 5, 6, 7)
botocore.auth.get_current_datetime = lambda remove_tzinfo=True: at


def some(parts, least, most):
    return "".join(random.choice(parts) for _ in range(random.randint(least, most)))


def vector():
    service = random.choice(["bedrock", "execute-api", "lambda", "s3", "bedrock-agentcore"])
    is_s3 = service == "s3"
    segments = S3_SEGMENTS if is_s3 else SEGMENTS
    path = "/" + "/".join(some(segments, 1, 3) for _ in range(random.randint(0, 4)))
    if not is_s3 and random.random() < 0.2:
        path += "/"
    if not is_s3 and random.random() < 0.1:
        path = path.replace("/", "//", 1)
    query = "&".join(some(QUERY, 1, 3) + "=" + some(QUERY, 0, 3) for _ in range(random.randint(0, 4)))
    method = random.choice(["GET", "POST", "PUT", "DELETE"])
    body = random.randbytes(random.randint(0, 40)) if method in ("POST", "PUT") else b""
    token = random.choice([None, "FwoGZXIvYXdzE/token=="])
    headers = {"Content-Type": random.choice(["application/json", "text/plain;  charset=utf-8"])}
    if random.random() < 0.5:
        headers["X-Amz-Target"] = " Some.Target   x "
    if random.random() < 0.3:
        headers["X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"] = "abc"
    target = path + ("?" + query if query else "")
    region = random.choice(["us-east-1", "eu-central-1", "cn-north-1"])
    request = AWSRequest(method=method, url="https://host.example.test" + target, headers=dict(headers), data=body)
    base = botocore.auth.S3SigV4Auth if is_s3 else botocore.auth.SigV4Auth

    class Signer(base):
        def _should_sha256_sign_payload(self, request):
            return not is_s3

    if not is_s3:
        # The gateway sends the hash of the body to all services, as S3 wants it.
        request.headers["X-Amz-Content-SHA256"] = hashlib.sha256(body).hexdigest()
    credentials = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    Signer(credentials, service, region).add_auth(request)
    return {
        "service": service,
        "region": region,
        "method": method,
        "target": target,
        "headers": headers,
        "body": body.hex(),
        **({} if token is None else {"sessionToken": token}),
        "authorization": request.headers["Authorization"],
    }


json.dump([vector() for _ in range(40)], sys.stdout, indent=2)
print()
