"""Which providers there are, what else people call them, and which variable holds the key of each.

Hermes's own providers are known here without importing it, so that a misspelt one is refused where it is written;
tests/test_provider.py compares the tables with hermes-agent's. Providers that Hermes does not have, and servers of this
machine, are endpoints of the provider `custom`.
"""

from __future__ import annotations

from hermes_nb._near import near

CUSTOM = "custom"
OFFLINE = "offline"

# Provider of Hermes 0.19 -> the variables that may hold its key, the usual one first; none where it signs in otherwise.
PROVIDERS: dict[str, tuple[str, ...]] = {
    "alibaba": ("DASHSCOPE_API_KEY",),
    "alibaba-coding-plan": ("ALIBABA_CODING_PLAN_API_KEY", "DASHSCOPE_API_KEY"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    "arcee": ("ARCEEAI_API_KEY",),
    "azure-foundry": ("AZURE_FOUNDRY_API_KEY",),
    "bedrock": (),
    "copilot": ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
    "copilot-acp": (),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "gmi": ("GMI_API_KEY",),
    "huggingface": ("HF_TOKEN",),
    "kilocode": ("KILOCODE_API_KEY",),
    "kimi-coding": ("KIMI_API_KEY", "KIMI_CODING_API_KEY"),
    "kimi-coding-cn": ("KIMI_CN_API_KEY",),
    "minimax": ("MINIMAX_API_KEY",),
    "minimax-cn": ("MINIMAX_CN_API_KEY",),
    "minimax-oauth": (),
    "nous": (),
    "novita": ("NOVITA_API_KEY",),
    "nvidia": ("NVIDIA_API_KEY",),
    "ollama-cloud": ("OLLAMA_API_KEY",),
    "openai-api": ("OPENAI_API_KEY",),
    "openai-codex": (),
    "opencode-go": ("OPENCODE_GO_API_KEY",),
    "opencode-zen": ("OPENCODE_ZEN_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "qwen-oauth": (),
    "stepfun": ("STEPFUN_API_KEY",),
    "tencent-tokenhub": ("TOKENHUB_API_KEY",),
    "upstage": ("UPSTAGE_API_KEY",),
    "vertex": (),
    "xai": ("XAI_API_KEY",),
    "xai-oauth": (),
    "xiaomi": ("XIAOMI_API_KEY",),
    "zai": ("GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"),
}

# Name of an OpenAI-compatible endpoint -> (its address, the variable that holds its key; "" where it wants none).
ENDPOINTS: dict[str, tuple[str, str]] = {
    "cerebras": ("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "litellm": ("http://localhost:4000/v1", "LITELLM_API_KEY"),
    "llamacpp": ("http://localhost:8080/v1", ""),
    "lmstudio": ("http://localhost:1234/v1", ""),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "ollama": ("http://localhost:11434/v1", ""),
    "perplexity": ("https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    "sambanova": ("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    "sglang": ("http://localhost:30000/v1", ""),
    "together": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "vllm": ("http://localhost:8000/v1", ""),
}

ALIASES = {
    "openai": "openai-api",
    "open-ai": "openai-api",
    "gpt": "openai-api",
    "chatgpt": "openai-api",
    "claude": "anthropic",
    "claude-code": "anthropic",
    "claude-oauth": "anthropic",
    "google": "gemini",
    "google-gemini": "gemini",
    "google-ai-studio": "gemini",
    "googleai": "gemini",
    "google-vertex": "vertex",
    "vertex-ai": "vertex",
    "gcp-vertex": "vertex",
    "vertexai": "vertex",
    "hf": "huggingface",
    "hugging-face": "huggingface",
    "huggingface-hub": "huggingface",
    "grok": "xai",
    "x-ai": "xai",
    "x.ai": "xai",
    "or": "openrouter",
    "open-router": "openrouter",
    "kimi": "kimi-coding",
    "moonshot": "kimi-coding",
    "kimi-for-coding": "kimi-coding",
    "kimi-cn": "kimi-coding-cn",
    "moonshot-cn": "kimi-coding-cn",
    "glm": "zai",
    "z-ai": "zai",
    "z.ai": "zai",
    "zhipu": "zai",
    "dashscope": "alibaba",
    "alibaba-cloud": "alibaba",
    "qwen-dashscope": "alibaba",
    "alibaba-coding": "alibaba-coding-plan",
    "dashscope-coding": "alibaba-coding-plan",
    "qwen": "qwen-oauth",
    "qwen-portal": "qwen-oauth",
    "qwen-cli": "qwen-oauth",
    "aws": "bedrock",
    "aws-bedrock": "bedrock",
    "amazon-bedrock": "bedrock",
    "amazon": "bedrock",
    "azure-ai-foundry": "azure-foundry",
    "azure-ai": "azure-foundry",
    "github": "copilot",
    "github-copilot": "copilot",
    "github-models": "copilot",
    "github-model": "copilot",
    "github-copilot-acp": "copilot-acp",
    "copilot-acp-agent": "copilot-acp",
    "nvidia-nim": "nvidia",
    "nim": "nvidia",
    "codex": "openai-codex",
    "deepseek-chat": "deepseek",
    "deep-infra": "deepinfra",
    "deepinfra-ai": "deepinfra",
    "fireworks-ai": "fireworks",
    "fw": "fireworks",
    "arcee-ai": "arcee",
    "arceeai": "arcee",
    "gmi-cloud": "gmi",
    "gmicloud": "gmi",
    "kilo": "kilocode",
    "kilo-code": "kilocode",
    "kilo-gateway": "kilocode",
    "mini-max": "minimax",
    "minimax-china": "minimax-cn",
    "nous-portal": "nous",
    "nousresearch": "nous",
    "novita-ai": "novita",
    "novitaai": "novita",
    "opencode": "opencode-zen",
    "zen": "opencode-zen",
    "go": "opencode-go",
    "opencode-go-sub": "opencode-go",
    "step": "stepfun",
    "stepfun-coding-plan": "stepfun",
    "solar": "upstage",
    "mimo": "xiaomi",
    "xiaomi-mimo": "xiaomi",
    "tencent": "tencent-tokenhub",
    "tokenhub": "tencent-tokenhub",
    "minimax-oauth-io": "minimax-oauth",
    "x-ai-oauth": "xai-oauth",
    "grok-oauth": "xai-oauth",
    "xai-grok-oauth": "xai-oauth",
    "lm-studio": "lmstudio",
    "llama.cpp": "llamacpp",
    "llama-cpp": "llamacpp",
    "llama-cpp-server": "llamacpp",
    "mistralai": "mistral",
    "mistral-ai": "mistral",
    "togetherai": "together",
    "together-ai": "together",
    "openai-compatible": CUSTOM,
    "openai-like": CUSTOM,
    "local": CUSTOM,
}

_AZURE = (
    "Write Model(DEPLOYMENT, 'custom', base_url='https://RESOURCE.openai.azure.com/openai/v1', api_key=...), or"
    " 'azure-foundry' with the base_url of your Foundry project."
)
# Those that need an address which nobody but the user knows.
_TO_BE_ADDRESSED = {"azure": _AZURE, "azure-openai": _AZURE, "azureopenai": _AZURE}


def is_known(provider: str) -> bool:
    """Return whether there is a provider of that name."""
    name = _bare(provider)
    return ALIASES.get(name, name) in {*PROVIDERS, *ENDPOINTS, *_TO_BE_ADDRESSED, CUSTOM, OFFLINE}


def _bare(provider: str) -> str:
    return provider.strip().lower().replace("_", "-")


def resolve(provider: str) -> tuple[str, str | None]:
    """Return Hermes's name of a provider, and the address of one that is an endpoint of `custom`, else None.

    Raises:
        LookupError: There is no such provider; the message names the nearest, and how any endpoint is reached.
    """
    name = _bare(provider)
    name = ALIASES.get(name, name)
    if name in ENDPOINTS:
        return CUSTOM, ENDPOINTS[name][0]
    if name in PROVIDERS or name in (CUSTOM, OFFLINE):
        return name, None
    if name in _TO_BE_ADDRESSED:
        raise LookupError(f"Provider {provider!r} has no address of its own. {_TO_BE_ADDRESSED[name]}")
    known = [*PROVIDERS, *ENDPOINTS, CUSTOM, OFFLINE]
    meant = near(name, [*known, *_TO_BE_ADDRESSED, *(a for a in ALIASES if len(a) > 3)])
    listed = "" if meant else f" Known: {', '.join(sorted(known))}."
    raise LookupError(
        f"There is no provider {provider!r}.{meant}{listed} Any OpenAI-compatible endpoint is 'custom' with"
        " base_url='http://host:port/v1'."
    )


def key_variables(provider: str, base_url: str | None = None) -> tuple[str, ...]:
    """Return the variables that may hold a provider's key, the usual one first.

    Args:
        provider: Its name, in any of its spellings.
        base_url: The endpoint, which tells a provider that is reached as `custom`.
    """
    name = _bare(provider)
    name = ALIASES.get(name, name)
    if name in PROVIDERS:
        return PROVIDERS[name]
    address = (base_url or "").rstrip("/")
    if name == CUSTOM:
        name = next((n for n, (url, _) in ENDPOINTS.items() if url == address), name)
    return tuple(filter(None, ENDPOINTS.get(name, ("", ""))[1:]))
