// The secret of the sign-in, without which its cookie is worth nothing. Storage is of this origin alone, its port included,
// while browsers send the cookie to every port of the host.
import type { SecretPlace } from '../../../src/client/index.ts'

const name = 'turnwire-sign-in'

export const signInSecret: SecretPlace = {
  read: () => localStorage.getItem(name) ?? undefined,
  write: secret => {
    if (secret === undefined) localStorage.removeItem(name)
    else localStorage.setItem(name, secret)
  },
}
