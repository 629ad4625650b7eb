// The usual forms of keys and tokens. The expressions are native, and written so that no text makes them scan the same
// characters more than a few times. A secret of an unknown form is not found.

/** `hint`: a quick look that every text with a match passes. */
export type SecretForm = { hint: RegExp; pattern: RegExp }

/** By name. */
export const secretForms = {
  'private-keys': {
    hint: /PRIVATE KEY/,
    // A block without an end is removed to the end of the text, because half a key is still a secret.
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  },
  jwts: {
    hint: /eyJ/,
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}/g,
  },
  'bearer-tokens': {
    hint: /bearer/i,
    pattern: /(?<![A-Za-z0-9])bearer[ \t]{1,8}(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{16,}/gi,
  },
  'api-keys': {
    hint: /sk[-_]|rk_|gh[pousr]_|github_pat_|xox|AIza/,
    pattern:
      /(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{35})/g,
  },
  'aws-keys': {
    hint: /A[KS]IA|secret_access_key|SECRET_ACCESS_KEY|ecretAccessKey/,
    pattern:
      /(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])|(?<=(?:secret_access_key|SECRET_ACCESS_KEY|ecretAccessKey)\\?["']?\s{0,8}[=:]\s{0,8}\\?["']?)[A-Za-z0-9/+=]{40}/g,
  },
} as const satisfies Record<string, SecretForm>

export function hasSecret(text: string): boolean {
  // `search` takes no notice of the flag "g".
  return Object.values(secretForms).some(({ hint, pattern }) => hint.test(text) && text.search(pattern) >= 0)
}
