// The port for the key that signs logs. Types only.

/**
 * Contract: `current` gives the key that signs now, its public part in base64url, and a function that signs with it (Ed25519). `newSalt`
 * gives 16 random bytes as text.
 */
export type ReceiptSigner = {
  current(): { key: string; sign: (text: string) => string }
  newSalt(): string
}
