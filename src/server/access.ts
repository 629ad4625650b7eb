// Who is let in at all, from the configuration alone. `turnwire check` and the server both ask here.
import type { ServerConfig } from '../config/config.ts'
import { TurnwireError } from '../language/errors.ts'

/** Callers are identified in another way than by keys too, so without any key nobody is let in. */
export function isGuarded({ authenticate: identify, jwt, oidc }: ServerConfig): boolean {
  return identify !== undefined || jwt !== undefined || oidc !== undefined
}

/** Throws if the identity provider could not send people back. `hostname`: undefined for a mount. */
export function checkSignInAddress(config: ServerConfig, hostname: string | undefined): void {
  if (config.oidc === undefined || config.publicUrl !== undefined) return
  if (hostname !== undefined && isLoopback(hostname)) return
  throw new TurnwireError(
    'config_invalid',
    'server.oidc needs server.publicUrl: the provider sends people back to an address that is registered there, <publicUrl>/sign-in.',
  )
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '::1' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/** It listens on every address of the machine. None of them is its name. */
export function isEveryAddress(hostname: string): boolean {
  return hostname === '0.0.0.0' || hostname === '::'
}

/** Other machines reach it, but it answers to no name that they could use. Undefined: it is as it should be. */
export function namelessProblem(
  { hosts = [] }: ServerConfig,
  hostname: string | undefined,
): string | undefined {
  return hostname !== undefined && isEveryAddress(hostname) && hosts.length === 0
    ? 'it answers to localhost only. Add the names under which others reach it to server.hosts'
    : undefined
}
