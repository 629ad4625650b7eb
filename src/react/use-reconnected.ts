// Hides the error of something that failed while the server was away, once the server is back: it can be tried again.
import { useEffect, useRef } from 'react'
import type { SessionConnection } from './session-page.ts'

/** Calls `onBack` when the connection is live after it was broken. */
export function useReconnected(connection: SessionConnection | undefined, onBack: () => void): void {
  const wasBroken = useRef(false)
  const latest = useRef(onBack)
  latest.current = onBack
  useEffect(() => {
    if (connection === 'live' && wasBroken.current) latest.current()
    wasBroken.current = connection === 'broken' || (wasBroken.current && connection === 'connecting')
  }, [connection])
}
