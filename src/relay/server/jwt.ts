// The tokens that say which wallet someone has proved to own: JWTs signed with ES256. The key comes from the
// installation's own secret, so that it survives restarts and is the same on every node of an installation.
import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomUUID,
  sign,
  verify,
} from 'node:crypto'
import { type Hex, readWalletAddress } from '../../callers/wallet.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/json/index.ts'

/** `signedAt`: when the wallet signed. A token that was made from another one has the time of the first. */
export type Claims = {
  wallet: Hex
  agentId: string
  id: string
  signedAt: number
  issuedAt: number
  expiresAt: number
}

export type Tokens = {
  /** Times are in milliseconds. `signedAt`: when the wallet signed, if that is not now. */
  issue(wallet: Hex, now: number, signedAt?: number): { jwt: string; claims: Claims }
  /** Undefined: it was not issued here, has been changed, or has expired. */
  read(jwt: string, now: number): Claims | undefined
}

const audience = 'turnwire-relay'
const header = encoded({ alg: 'ES256', typ: 'JWT' })

/** How long a token is good for, and all tokens that follow from one signature of a wallet. */
export type TokenLife = { tokenMs: number; signInMs: number }

/** `secret`: 32 bytes. */
export function relayTokens(secret: Buffer, { tokenMs, signInMs }: TokenLife): Tokens {
  const { privateKey, publicKey } = keysFrom(secret)
  return {
    issue(wallet, now, signedAt = now) {
      const issuedAt = Math.floor(now / 1000)
      const signed = Math.floor(signedAt / 1000)
      const expiresAt = Math.min(issuedAt + Math.ceil(tokenMs / 1000), signed + Math.ceil(signInMs / 1000))
      const id = randomUUID()
      const agentId = walletAgentId(wallet)
      const claims = {
        iss: 'turnwire',
        aud: audience,
        sub: wallet,
        agentId,
        jti: id,
        auth_time: signed,
        iat: issuedAt,
        exp: expiresAt,
      }
      const text = `${header}.${encoded(claims)}`
      const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
      const jwt = `${text}.${signature.toString('base64url')}`
      const times = { signedAt: signed * 1000, issuedAt: issuedAt * 1000, expiresAt: expiresAt * 1000 }
      return { jwt, claims: { wallet, agentId, id, ...times } }
    },
    read(jwt, now) {
      const [head, body, signature, ...more] = jwt.split('.')
      // Only our own header passes, so that no token chooses how it is checked.
      if (head !== header || body === undefined || signature === undefined || more.length > 0)
        return undefined
      const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
      const isOurs = verify(
        'sha256',
        Buffer.from(`${head}.${body}`),
        key,
        Buffer.from(signature, 'base64url'),
      )
      const claims = isOurs ? claimsIn(body, now) : undefined
      return claims && claims.signedAt + signInMs > now ? claims : undefined
    },
  }
}

/** One wallet has one agent: its id is the address. */
function walletAgentId(wallet: Hex): string {
  return wallet
}

function claimsIn(body: string, now: number): Claims | undefined {
  const claims = parseJson(Buffer.from(body, 'base64url').toString('utf8'))
  if (!isJsonObject(claims) || claims['aud'] !== audience) return undefined
  const { sub, agentId, jti, iat, exp } = claims
  // Older tokens do not say when their wallet signed.
  const { auth_time: signed = iat } = claims
  const wallet = readWalletAddress(sub)
  if (wallet === undefined || typeof exp !== 'number' || exp * 1000 <= now) return undefined
  if (typeof agentId !== 'string' || typeof jti !== 'string') return undefined
  if (typeof iat !== 'number' || typeof signed !== 'number') return undefined
  const times = { signedAt: signed * 1000, issuedAt: iat * 1000, expiresAt: exp * 1000 }
  return { wallet, agentId, id: jti, ...times }
}

function encoded(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function keysFrom(secret: Buffer): { privateKey: KeyObject; publicKey: KeyObject } {
  const curve = createECDH('prime256v1')
  try {
    curve.setPrivateKey(secret)
  } catch {
    // One secret in about 2^32 is no key of this curve.
    return keysFrom(createHash('sha256').update(secret).digest())
  }
  const point = curve.getPublicKey()
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  }
  const d = secret.toString('base64url')
  return {
    privateKey: createPrivateKey({ key: { ...jwk, d }, format: 'jwk' }),
    publicKey: createPublicKey({ key: jwk, format: 'jwk' }),
  }
}
