// Addresses of the console: every view has one, and Back and reload give the same view. Links are real links, so they can be
// copied and opened in another tab.
import { type MouseEvent, type ReactElement, type ReactNode, useMemo, useSyncExternalStore } from 'react'
import { mountPath } from './mount-path.ts'

export type Address = { path: string; query: URLSearchParams; hash: string }

const listeners = new Set<() => void>()
const tell = (): void => {
  for (const listener of listeners) listener()
}
globalThis.addEventListener('popstate', tell)
globalThis.addEventListener('hashchange', tell)

export function navigate(to: string, { replace = false } = {}): void {
  if (to === here()) return
  if (replace) history.replaceState(null, '', mountPath + to)
  else history.pushState(null, '', mountPath + to)
  tell()
}

function here(): string {
  const { pathname, search, hash } = location
  return `${pathname.slice(mountPath.length) || '/'}${search}${hash}`
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function useAddress(): Address {
  const whole = useSyncExternalStore(subscribe, here)
  return useMemo(() => parseAddress(whole), [whole])
}

export function currentAddress(): Address {
  return parseAddress(here())
}

function parseAddress(whole: string): Address {
  const url = new URL(whole, location.origin)
  return { path: url.pathname, query: url.searchParams, hash: url.hash }
}

/** The address with some members of its query changed. An empty value removes the member. */
export function withQuery(address: Address, changes: Record<string, string | undefined>, hash = ''): string {
  const query = new URLSearchParams(address.query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  return `${address.path}${text === '' ? '' : `?${text}`}${hash}`
}

type LinkProps = {
  to: string
  children: ReactNode
  className?: string | undefined
  title?: string | undefined
  'aria-current'?: 'page' | 'true' | undefined
  'aria-label'?: string | undefined
  onClick?: () => void
}

export function Link({ to, children, onClick, ...rest }: LinkProps): ReactElement {
  const go = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
      return
    event.preventDefault()
    onClick?.()
    navigate(to)
  }
  return (
    <a href={mountPath + to} onClick={go} {...rest}>
      {children}
    </a>
  )
}
