// The sign-in at the identity provider, as the page takes part in it: it leaves for the provider, and comes back with an answer in
// its address. The place where the person was is kept in this tab, never in an address: nobody can send them elsewhere.
import type { ProviderAnswer, SignInOptions } from '../../../src/client/index.ts'
import { operator } from './console-state.tsx'
import { serverUrl } from './mount-path.ts'
import { currentAddress, navigate } from './router.tsx'
import { signInSecret } from './sign-in-secret.ts'

const place = 'turnwire-return'
const signInPath = '/sign-in'
/** In the address of the sign-in page: go on to the provider at once. */
const startMark = 'start'

/** `page`: the sign-in page as the provider knows it. Under another name of this server the cookie would not be there at the end. */
export async function leaveForProvider(page: string): Promise<void> {
  const { path, query, hash } = currentAddress()
  const search = query.toString()
  if (path !== signInPath) sessionStorage.setItem(place, `${path}${search === '' ? '' : `?${search}`}${hash}`)
  if (new URL(page).origin === location.origin)
    location.assign((await send<{ address: string }>('/oidc/start', {})).address)
  else location.assign(`${page}?${startMark}=1`)
}

/** How one may sign in besides with a key. */
export function signInOptions(): Promise<SignInOptions> {
  return send('')
}

export async function finishSignIn(answer: ProviderAnswer): Promise<void> {
  const { secret } = await send<{ secret: string }>('/oidc', answer)
  signInSecret.write(secret)
}

/** `Answer` is what the route gives. It is not checked. Rejects with the server's words. */
async function send<Answer>(path: string, body?: object): Promise<Answer> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const answer = await fetch(`${serverUrl}/operator/sign-in${path}`, body && init)
  const said = (await answer.json()) as Answer & { error?: unknown }
  if (answer.ok) return said
  throw new Error(typeof said.error === 'string' ? said.error : `The server answered ${answer.status}.`)
}

/** The provider's answer is in the address. */
export function hasAnswer(): boolean {
  const { path, query } = currentAddress()
  return path === signInPath && query.has('state')
}

/** The answer in the address, which is removed from it. Undefined: there is none. */
export function takeAnswer(): ProviderAnswer | undefined {
  if (!hasAnswer()) return undefined
  const { query } = currentAddress()
  const state = query.get('state') ?? ''
  navigate(signInPath, { replace: true })
  const member = (name: 'code' | 'iss' | 'error'): object => {
    const value = query.get(name)
    return value === null ? {} : { [name]: value }
  }
  return { state, ...member('code'), ...member('iss'), ...member('error') }
}

/** The person chose the provider at another name of this server. Told once. */
export function takeStart(): boolean {
  const { path, query } = currentAddress()
  if (path !== signInPath || !query.has(startMark)) return false
  navigate(signInPath, { replace: true })
  return true
}

/** From the sign-in page to where the person was before. Elsewhere nothing changes. */
export function leaveSignInPage(): void {
  if (currentAddress().path !== signInPath) return
  const kept = sessionStorage.getItem(place) ?? '/'
  sessionStorage.removeItem(place)
  navigate(kept.startsWith('/') && !kept.startsWith('//') ? kept : '/', { replace: true })
}

/** Signs out here, and at the provider if the server says so. */
export async function signOut(): Promise<void> {
  // A person who is not signed in any more cannot be signed out: the page shows the sign-in then.
  const address = await operator.signOut().catch(() => undefined)
  if (address === undefined) location.reload()
  else location.assign(address)
}
