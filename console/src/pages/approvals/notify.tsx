// A desktop notification when a call begins to wait while this page is out of sight.
import { type ReactElement, useEffect, useRef, useState } from 'react'
import { printable } from '../../../../src/lib/text/index.ts'
import { useConsole } from '../../lib/console-state.tsx'

export function Notify(): ReactElement | null {
  const { approvals } = useConsole()
  const [permission, setPermission] = useState(() =>
    'Notification' in globalThis ? Notification.permission : 'denied',
  )
  const known = useRef<Set<string>>(undefined)
  const waiting = approvals.approvals
  useEffect(() => {
    const before = known.current
    known.current = new Set(waiting.map(each => each.callId))
    if (!before || permission !== 'granted' || document.visibilityState === 'visible') return
    for (const { callId, tool, agent } of waiting)
      if (!before.has(callId))
        new Notification('A call waits for approval', {
          body: printable(`${agent}: ${tool.name}`, 120),
          tag: callId,
        })
  }, [waiting, permission])
  if (permission !== 'default') return null
  return (
    <button
      type="button"
      className="tw-button"
      onClick={() => void Notification.requestPermission().then(setPermission)}
    >
      Notify me
    </button>
  )
}
