// Decisions of the inbox, held for a few seconds before they are sent, so that they can be taken back: once the server has a
// decision, the call runs. Leaving the page sends what is held at once. A decision of someone else wins as ever.
import { useCallback, useEffect, useState } from 'react'
import { type OperatorApproval, OperatorClient } from '../../../src/client/index.ts'
import { errorMessage } from '../../../src/lib/text/error-message.ts'
import type { ApprovalAnswer } from '../../../src/react/index.ts'
import { decideCall } from '../../../src/react/use-lists.ts'
import { serverUrl } from './mount-path.ts'
import { signInSecret } from './sign-in-secret.ts'
import { read, write } from './theme.ts'

export type Held = { approval: OperatorApproval; answer: ApprovalAnswer; dueAt: number }

export type HeldDecisions = {
  held: readonly Held[]
  /** The last decision that the server refused, in words. */
  problem: string | undefined
  /** The session of the last decision that was sent. */
  sent: Held | undefined
  hold: (approval: OperatorApproval, answer: ApprovalAnswer) => void
  /** Takes back this decision. */
  undo: (callId: string) => void
  sendNow: (callId: string) => void
  dismiss: () => void
}

export const undoSeconds = [5, 10, 0] as const

/** How long decisions are held. It is kept in this browser. */
export function readUndoSeconds(): number {
  const kept = read('turnwire-undo')
  return undoSeconds.find(seconds => String(seconds) === kept) ?? undoSeconds[0]
}

export function writeUndoSeconds(seconds: number): void {
  write('turnwire-undo', String(seconds))
}

/** Requests of a page that goes away are carried on by the browser. */
const lasting = new OperatorClient({
  baseUrl: serverUrl,
  secret: signInSecret,
  fetch: (address, init) => fetch(address, { ...init, keepalive: true }),
})

/** Timers of what is held. Each decision leaves it once: it is sent, or taken back. */
class Holding {
  readonly #held = new Map<string, { held: Held; timer: ReturnType<typeof setTimeout> }>()

  add(held: Held, send: () => void): void {
    const timer = setTimeout(send, held.dueAt - Date.now())
    this.#held.set(held.approval.callId, { held, timer })
  }

  /** Undefined: it is not held, or not any more. */
  release(callId: string): Held | undefined {
    const found = this.#held.get(callId)
    clearTimeout(found?.timer)
    this.#held.delete(callId)
    return found?.held
  }

  releaseAll(): Held[] {
    return [...this.#held.keys()].flatMap(callId => this.release(callId) ?? [])
  }
}

/** A question that is about to expire is answered at once. */
function dueAt({ expiresAt = Number.POSITIVE_INFINITY }: OperatorApproval): number {
  const wanted = Date.now() + readUndoSeconds() * 1000
  return wanted + 2000 < expiresAt ? wanted : Date.now()
}

export function useHeldDecisions(
  decide: (approval: OperatorApproval, answer: ApprovalAnswer) => Promise<void>,
): HeldDecisions {
  const [held, setHeld] = useState<readonly Held[]>([])
  const [problem, setProblem] = useState<string>()
  const [sent, setSent] = useState<Held>()
  const [holding] = useState(() => new Holding())
  const dismiss = useCallback(() => {
    setProblem(undefined)
    setSent(undefined)
  }, [])
  const drop = useCallback((callId: string) => {
    setHeld(before => before.filter(each => each.approval.callId !== callId))
  }, [])
  const sendNow = useCallback(
    (callId: string) => {
      const due = holding.release(callId)
      if (!due) return
      decide(due.approval, due.answer)
        .then(
          () => setSent(due),
          (cause: unknown) => setProblem(errorMessage(cause)),
        )
        .finally(() => drop(callId))
    },
    [holding, decide, drop],
  )
  const hold = useCallback(
    (approval: OperatorApproval, answer: ApprovalAnswer) => {
      const one = { approval, answer, dueAt: dueAt(approval) }
      dismiss()
      setHeld(before => [...before, one])
      holding.add(one, () => sendNow(approval.callId))
    },
    [holding, sendNow, dismiss],
  )
  const undo = useCallback(
    (callId: string) => {
      if (holding.release(callId)) drop(callId)
    },
    [holding, drop],
  )
  useSendWhenLeft(holding)
  return { held, problem, sent, hold, undo, sendNow, dismiss }
}

function useSendWhenLeft(holding: Holding): void {
  useEffect(() => {
    const leave = (): void => {
      for (const { approval, answer } of holding.releaseAll())
        void decideCall(lasting, approval, answer).catch(() => {})
    }
    globalThis.addEventListener('pagehide', leave)
    return () => globalThis.removeEventListener('pagehide', leave)
  }, [holding])
}
