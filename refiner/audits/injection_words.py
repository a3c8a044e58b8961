"""Words by which a line asks an agent to run, reveal or ignore something, in the usual languages of skills."""

from __future__ import annotations

import re

PROGRAMS = (
    r"(?:curl|wget|bash|sh|zsh|sudo|su|rm|rmdir|chmod|chown|eval|exec|nc|ncat|ssh|scp|sftp|rsync|powershell|pwsh|iex"
    r"|invoke-\w+|python3?\s+-[cm]|perl\s+-e|ruby\s+-e|node\s+-e|pipx?3?\s+install|uv\s+(?:pip|tool|run)|npm\s+(?:install|i|run)"
    r"|npx|yarn\s+(?:add|dlx)|pnpm\s+(?:add|dlx)|apt(?:-get)?\s+install|brew\s+install|choco\s+install|cargo\s+install"
    r"|go\s+install|gem\s+install|git\s+(?:clone|push|remote|reset|clean|config)|docker|podman|kubectl|helm|terraform"
    r"|ansible(?:-playbook)?|aws|gcloud|az|psql|mysql|mongo(?:sh)?|redis-cli|sqlite3|systemctl|service|launchctl|crontab"
    r"|dd\s+if=|mkfs(?:\.\w+)?|kill(?:all)?|pkill|shutdown|reboot|openssl|base64\s+-\w|gpg|tee\s+/|xargs|find\s+\S+\s+.*-(?:delete|exec)"
    r"|sed\s+-i|certutil|reg\s+(?:add|delete)|del\s+/\w|format\s+\w:)"
)
SHELL_FENCES = frozenset(
    {"sh", "bash", "zsh", "shell", "console", "terminal", "powershell", "ps1", "pwsh", "bat", "cmd"}
)
MID_SENTENCE = (
    r"\b(?:rm\s+-[a-z]+\s+\S+|sudo\s+\w+|chmod\s+[0-7+]\S*\s+\S+|kill\s+-\d+|curl\s+-\w+|(?:curl|wget)\s+\S+[./]\S+"
    r"|git\s+(?:push|reset|clean)\s+-\S+|kubectl\s+(?:delete|apply|exec)\s+\S+|docker\s+(?:run|exec|rm)\s+\S+"
    r"|pip3?\s+install\s+\S+|npm\s+(?:install|i)\s+\S+)[^`\n,;]*"
)

_SECRETS = (
    r"(?:pass(?:word|phrase|code)s?|log-?in(?: data| details)?s?|credentials?|api[ _-]?keys?|access keys?|private keys?"
    r"|secrets?|tokens?|pins?|cvv|cvc|ssn|one-time codes?|security codes?|verification codes?"
    r"|card (?:number|data|details)s?"
    r"|passw[oö]rt(?:er)?|passwörter|kennw[oö]rt(?:er)?|zugangsdaten|kreditkarten(?:nummer|daten)|kartennummer"
    r"|pr[uü]fziffer|contraseñas?|claves?|c[oó]digo de seguridad|n[uú]mero de (?:la )?tarjeta|credenciales"
    r"|mots? de passe|identifiants|code de s[eé]curit[eé]|num[eé]ro de (?:la )?carte"
    r"|parola d'ordine|codice di sicurezza)"
)
_ASKS = (
    r"(?:ask(?:s|ing)?|request(?:s|ing)?|enter|provides?|send|share|paste|reveal|show|print|collect|give|type|submit|e-?mail"
    r"|upload|tell|state|dictate|repl(?:y|ies)|respond|read out|hand over|confirm with|obtain|have \w+(?: \w+)?"
    r"|pide|pida|pedir|solicita\w*|pregunta\w*|env[ií]\w*|frag\w*|verlang\w*|bitte\w*|erbitte\w*|lass dir|nenn\w*"
    r"|demande\w*|envoie\w*|chiedi|richiedi)"
)
CREDENTIALS = rf"\b{_ASKS}\b[^.\n]{{0,80}}\b{_SECRETS}\b"
_NEVER = r"(?:never|not|don't|no|nunca|nie|niemals|nicht|jamais|without)"
HARMLESS_ASK = re.compile(rf"\b{_NEVER}\s+(?:\w+\s+){{0,2}}{_ASKS}\b|\b{_ASKS}\s+{_NEVER}\b", re.IGNORECASE)
"""A line that forbids to ask. Asking is not forbidden by "never forget to ask"."""
FORGETTING = re.compile(
    r"\b(?:forget|fail|omit|hesitate|skip|miss|vergiss|vergessen|olvid\w*|oubli\w*)\b", re.IGNORECASE
)

_OTHERS = (
    r"(?:instructions?|rules?|guidelines?|guidance|polic(?:y|ies)|prompts?|directions?|directives?|sections?|skills?|messages?"
    r"|safeguards?|guard ?rails?|restrictions?|constraints?|orders"
    r"|anweisung(?:en)?|regeln?|vorgaben|richtlinien?|vorschriften|instrucciones|reglas|normas|directrices|indicaciones"
    r"|consignes|r[eè]gles|directives|istruzioni|regole|instruções|regras)"
)
_IGNORES = (
    r"(?:ignor(?:e|es|ed|ing)|disregard(?:s|ed|ing)?|forget|overrid(?:e|es|den|ing)|overrul(?:e|es|ed|ing)|bypass(?:es|ed|ing)?"
    r"|skip|supersedes?|outranks?|trumps?|replaces? all|takes? (?:precedence|priority) over|instead of following"
    r"|(?:do|does|need) not (?:follow|obey|apply|heed)|no longer (?:follow|obey|apply|heed)|pay no attention to"
    r"|ignorier\w*|vergiss|vergesst|missachte\w*|[uü]bergeh\w*|setz\w* dich [uü]ber|befolge nicht"
    r"|ignora\w*|olvida\w*|omite|haz caso omiso de|no sigas|ignore[zr]?|oublie[zr]?|ne suis pas|dimentica\w*"
    r"|esque[cç]a)"
)
IGNORE = rf"\b{_IGNORES}\b[^.\n]{{0,60}}\b{_OTHERS}\b"
