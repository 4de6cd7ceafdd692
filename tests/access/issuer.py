"""An OpenID Connect issuer for tests, of our own: it speaks the standard, and can be told to say what is not true.

Discovery, keys, the authorization code flow with PKCE, the device flow and refreshing. Whoever comes is let in as the
person that a test has set; no password is asked.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from functools import cache
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlencode

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT = "stead"


class Key:
    """A key that tokens are signed with."""

    def __init__(self, id: str, algorithm: str = "RS256") -> None:
        self.id, self.algorithm = id, algorithm
        curve = algorithm.startswith("ES")
        self.private: Any = (
            ec.generate_private_key(ec.SECP256R1()) if curve else rsa.generate_private_key(65537, 2048)
        )
        maker: Any = jwt.algorithms.ECAlgorithm if curve else jwt.algorithms.RSAAlgorithm
        self.public = {
            **json.loads(maker.to_jwk(self.private.public_key())),
            "kid": id,
            "use": "sig",
            "alg": algorithm,
        }


@cache
def first_key() -> Key:
    """What every issuer begins with: to make one takes up to a second of processor time."""
    return Key("one")


class Issuer:
    """Runs while the context lasts."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {"sub": "ann", "groups": ["ops"]}
        self.keys = [first_key()]
        self.lasts = 300
        self.looked = 0
        """How often somebody has asked for the keys."""
        self.claims: dict[str, Any] = {}
        """What is said otherwise than it should be."""
        self._codes: dict[str, dict[str, str]] = {}
        self._devices: dict[str, bool] = {}
        routes = [
            Route("/.well-known/openid-configuration", self._discovery),
            Route("/keys", self._keys),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
            Route("/device", self._device, methods=["POST"]),
            Route("/yes/{code}", self._yes),
        ]
        config = uvicorn.Config(Starlette(routes=routes), port=0, log_level="critical", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(60)

    def token(self, key: Key | None = None, **claims: Any) -> str:
        """An ID token, with some claims other than they should be; None leaves one out."""
        now = int(time.time())
        said = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + self.lasts, **self.person}
        said = {name: value for name, value in {**said, **claims, **self.claims}.items() if value is not None}
        key = key or self.keys[-1]
        return jwt.encode(said, key.private, key.algorithm, headers={"kid": key.id})

    async def _discovery(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.claims.get("issuer", self.url),
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "device_authorization_endpoint": f"{self.url}/device",
            }
        )

    async def _keys(self, _: Request) -> Response:
        self.looked += 1
        return JSONResponse({"keys": [key.public for key in self.keys]})

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}", 302)

    async def _device(self, request: Request) -> Response:
        asked = await _form(request)
        code = secrets.token_urlsafe(8)
        self._devices[code] = False
        return JSONResponse(
            {
                "device_code": code,
                "user_code": "ABCD-EFGH",
                "verification_uri": f"{self.url}/yes/{code}",
                "interval": 0.1,
                "expires_in": 30,
                "scope": asked.get("scope", ""),
            }
        )

    async def _yes(self, request: Request) -> Response:
        self._devices[request.path_params["code"]] = True
        return PlainTextResponse("you are logged in\n")

    async def _token(self, request: Request) -> Response:
        asked = await _form(request)
        match asked.get("grant_type", ""):
            case "authorization_code":
                begun = self._codes.pop(asked.get("code", ""), None)
                if begun is None or begun["redirect_uri"] != asked.get("redirect_uri") or not _proves(begun, asked):
                    return JSONResponse({"error": "invalid_grant"}, 400)
                return self._said(nonce=begun["nonce"])
            case "urn:ietf:params:oauth:grant-type:device_code":
                said = self._devices.get(asked.get("device_code", ""))
                if said is None:
                    return JSONResponse({"error": "invalid_grant"}, 400)
                return self._said() if said else JSONResponse({"error": "authorization_pending"}, 400)
            case "refresh_token" if asked.get("refresh_token") == "again":
                return self._said()
        return JSONResponse({"error": "unsupported_grant_type"}, 400)

    def _said(self, **claims: Any) -> Response:
        return JSONResponse(
            {
                "id_token": self.token(**claims),
                "refresh_token": "again",
                "expires_in": self.lasts,
                "token_type": "Bearer",
            }
        )


async def _form(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}


def _proves(begun: dict[str, str], asked: dict[str, str]) -> bool:
    """PKCE: whoever brings the code knows what its challenge was made of."""
    digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") == begun.get("code_challenge")
