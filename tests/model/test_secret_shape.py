"""The list that the table of secret shapes is measured with: 50 shapes, of which none is missed, and 220 innocent values."""

import base64
import hashlib
import json
import pickle
import random
import uuid
from collections.abc import Iterator

import pytest

from hermes_nb.model import secret_shape

_CHARS = random.Random(7)


def _some(n: int, of: str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789") -> str:
    return "".join(_CHARS.choice(of) for _ in range(n - 1)) + "7"


HEX, UPPER = "0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_JWT = ".".join(
    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
    for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "Ada"})
)
_PEM = "-----BEGIN {} KEY-----\n" + "\n".join(_some(64) for _ in range(3)) + "\n-----END {} KEY-----\n"
# Made at each run and in pieces, so that no scanner takes this file for a leak.
SECRETS = {
    "openai": "sk-" + _some(48),
    "openai project": "sk-proj-" + _some(60),
    "anthropic": "sk-ant-api03-" + _some(80),
    "openrouter": "sk-or-v1-" + _some(64, HEX),
    "langfuse": "sk-lf-" + str(uuid.UUID(int=5 << 70)),
    "groq": "gsk_" + _some(52),
    "xai": "xai-" + _some(80),
    "perplexity": "pplx-" + _some(48),
    "nvidia": "nvapi-" + _some(64),
    "tavily": "tvly-" + _some(32),
    "replicate": "r8_" + _some(37),
    "hugging face": "hf_" + _some(34),
    "langsmith": "lsv2_pt_" + _some(32, HEX) + "_" + _some(10, HEX),
    "google": "AIza" + _some(35),
    "google oauth": "GOCSPX-" + _some(28),
    "google access": "ya29." + _some(60),
    "github": "ghp_" + _some(36),
    "github fine": "github_pat_" + _some(22) + "_" + _some(59),
    "gitlab": "glpat-" + _some(20),
    "aws": "AKIA" + _some(16, UPPER),
    "aws session": "ASIA" + _some(16, UPPER),
    "aws secret": "aws_secret_access_key = " + _some(40),
    "slack": "xoxb-" + "123456789012-" + _some(24),
    "slack app": "xapp-1-" + _some(40),
    "slack hook": "https://hooks.slack.com/services/T0" + _some(8, UPPER) + "/B0" + _some(8, UPPER) + "/" + _some(24),
    "discord hook": "https://discord.com/api/webhooks/123456789012345678/" + _some(68),
    "stripe": "sk_" + "live_" + _some(24),
    "stripe hook": "whsec_" + _some(32),
    "sendgrid": "SG." + _some(22) + "." + _some(43),
    "twilio": "SK" + _some(32, HEX),
    "mailchimp": _some(32, HEX) + "-us12",
    "telegram": "1234567890:AA" + _some(33),
    "npm": "npm_" + _some(36),
    "pypi": "pypi-AgEIcHlwaS5vcmc" + _some(60),
    "databricks": "dapi" + _some(32, HEX),
    "digitalocean": "dop_v1_" + _some(64, HEX),
    "vault": "hvs." + _some(24),
    "docker": "dckr_pat_" + _some(27),
    "azure storage": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + _some(86) + "==;EndpointSuffix=x",
    "azure signed": "https://a.blob.core.windows.net/c/f.csv?sv=2022-11-02&sig=" + _some(43) + "%3D",
    "aws signed": "https://b.s3.amazonaws.com/f?X-Amz-Signature=" + _some(64, HEX),
    "jwt": _JWT + "." + _some(43),
    "bearer": f"headers={{'Authorization': 'Bearer {_some(30)}'}}",
    "basic": "Authorization: Basic " + base64.b64encode(b"ada:correct-horse").decode(),
    "rsa": _PEM.format("RSA PRIVATE", "RSA PRIVATE"),
    "openssh": _PEM.format("OPENSSH PRIVATE", "OPENSSH PRIVATE"),
    "pkcs8": _PEM.format("PRIVATE", "PRIVATE"),
    "postgres": "postgresql://app:s3cr3tPassw0rd@db/shop",
    "redis": "redis://:Zx81spectrum@cache:6379/0",
    "mongodb": "mongodb+srv://app:hunter2@cluster0.example.net/x",
    "odbc": "Driver={ODBC Driver 18};Server=db;Uid=app;Pwd=s3cr3tPassw0rd;",
    "jdbc": "jdbc:mysql://db/shop?user=a&password=s3cr3tPw1",
    "toml": "[db]\nuser = 'app'\npassword='s3cr3tPassw0rd'\n",
    "json": '{"db": {"password": "correct-horse-9"}}',
    "env file": "export DB_PASSWORD=hunter2hunter2\n",
    "yaml": "db:\n  client_secret: 9fK2hunter2hunter\n",
    "python": 'API_KEY = "9f8e7d6c5b4a3928"',
}

_WORDS = """customer_id password_hash_algorithm token_count n_tokens secret_santa keyword primary_key foreign_key sort_key
api_version is_secret max_tokens key_error passwordless tokenizer hidden_size monkey donkey turkey_2021 keyboard
sk-learn scikit-learn task-force-one-thousand-and-one risk-adjusted-return-on-capital-2024 desk-reservation-system
hf_model gh-pages npm_package pypi-stats AIzawl xoxo eyJ SGD.USD.EUR dapiprofile whsec ya29 r8_block
Donaudampfschifffahrtsgesellschaftskapitaen pneumonoultramicroscopicsilicovolcanoconiosis antidisestablishmentarianism
ACGTACGTTAGCCGATAAGCTTGCACGTACGTTAGCCGATAAGC MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQ""".split()
_LINES = [
    "password: str = Field(..., min_length=8)",
    "token = tokens[0]",
    "api_key=os.environ['OPENAI_API_KEY']",
    "password = getpass.getpass()",
    "def login(user, password='password'): ...",
    "token: Optional[str] = None",
    "api_key: your-key-here",
    "API_KEY=${API_KEY}",
    "password={password}",
    'api_key="<your key>"',
    'api_key="not-needed"',
    'api_key="no-key-required"',
    'api_key="lm-studio"',
    "secret: ''",
    "postgresql://user:password@localhost/db",
    "postgresql://{user}:{pw}@db/shop",
    "postgres://localhost:5432/shop",
    "https://example.org/a:b/c@d",
    "https://user@example.org/path",
    "http://127.0.0.1:8000/v1",
    "mailto:ada@example.org",
    "https://api.example.org/v1/models?limit=20&after=abc123",
    "https://example.org/?key=value&page=2",
    "Authorization: Bearer <token>",
    "the bearer of this letter",
    "a basic understanding",
    "basic authentication",
    "BEGIN PUBLIC KEY",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOC\n",
    "sk-...",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "key: 42",
    "sort_key: 'date'",
    "token_type: 'word'",
    "n_tokens = 123456789",
    "max_tokens: 4096",
    "keys = ['a', 'b']",
    "primary_key='customer_id'",
    "for key, value in items: print(key, value)",
    "2024-02-29T12:34:56.789+00:00",
    "1,234,567.89",
    "192.168.0.1:8080",
    "GPT-4o-mini-2024-07-18",
    "anthropic/claude-sonnet-5",
    "s3://bucket/path/part-00000-of-00128.parquet",
    "arn:aws:iam::123456789012:role/admin",
    "/usr/local/lib/python3.11/site-packages",
    "C:\\Users\\ada\\Documents\\a.csv",
    "The password was changed; ask Ada.",
    "password: ******",
    "secret='changeme'",
    "token = 'none'",
    "tokenizer = 'cl100k_base'",
]


def _innocent() -> Iterator[str]:
    yield from _WORDS
    yield from _LINES
    for i in range(24):
        yield hashlib.sha256(str(i).encode()).hexdigest()
        yield "sha256:" + hashlib.sha256(str(i).encode()).hexdigest()
        yield hashlib.md5(str(i).encode()).hexdigest()
        yield str(uuid.UUID(int=_CHARS.getrandbits(128)))
    for _ in range(16):
        yield "data:image/png;base64," + base64.b64encode(_CHARS.randbytes(3_000)).decode()
        yield "https://example.org/" + "/".join(_some(12) for _ in range(3)) + "?page=3"


INNOCENT = list(_innocent())


@pytest.mark.parametrize("name", SECRETS)
def test_no_shape_is_missed_as_text_in_a_pickle_and_in_wide_units(name: str) -> None:
    secret = SECRETS[name]

    assert secret_shape.find(secret)
    assert secret_shape.find(f"Some words, then\n{secret}\nand others.")
    assert secret_shape.find(pickle.dumps({"headers": [secret]}))
    assert secret_shape.find(b"\x93NUMPY" + secret.encode("utf-32-le"))


def test_at_most_two_of_the_innocent_values_are_taken_for_one() -> None:
    found = [value for value in INNOCENT if secret_shape.find(value)]

    assert len(SECRETS) >= 40
    assert len(INNOCENT) >= 200
    assert len(found) <= 2, found


def test_what_is_found_is_said_in_words() -> None:
    said = {name: secret_shape.find(SECRETS[name]) for name in ("google", "rsa", "postgres", "bearer", "toml")}

    assert said == {
        "google": "what looks like a key",
        "rsa": "a private key",
        "postgres": "an address with its password",
        "bearer": "an Authorization header",
        "toml": "a password",
    }


def test_a_mask_takes_the_secret_alone() -> None:
    assert secret_shape.mask("postgresql://app:s3cr3tPassw0rd@db/shop and more", "*") == (
        "postgresql://app:*@db/shop and more"
    )
    assert secret_shape.mask(f"key {SECRETS['groq']}, {SECRETS['xai']}.", "*") == "key *, *."


@pytest.mark.serial
def test_thirty_megabytes_of_numbers_take_less_than_five_seconds() -> None:
    import time

    data = random.Random(1).randbytes(30_000_000)
    began = time.process_time()
    secret_shape.find(data)

    assert time.process_time() - began < 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-le"])
@pytest.mark.parametrize("at", [0, 700_001, 1_000_000])
@pytest.mark.parametrize(
    "secret", ["sk-proj-Ab3dEf6hIj9lMn2pQr5t", "postgresql://app:s3cr3tPassw0rd@db/shop", "password = 'pa55word1x'"]
)
def test_a_secret_in_large_binary_data_is_found_wherever_it_stands(secret: str, at: int, encoding: str) -> None:
    noise = random.Random(3).randbytes(1_000_000)
    assert secret_shape.find(noise) == ""
    assert secret_shape.find(noise[:at] + b"\0\0\0\0" + secret.encode(encoding) + b"\0\0\0\0" + noise[at:])


def test_of_large_binary_data_what_holds_words_alone_is_searched() -> None:
    noise = random.Random(3).randbytes(2_000_000)
    assert sum(map(len, secret_shape._texts(noise))) < len(noise) / 5
