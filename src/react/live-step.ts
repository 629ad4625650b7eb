// The answer that is arriving, as deltas have shown it so far. It is replaced by the durable answer, and taken back
// when the model is asked again. Text pieces are joined only when a page is drawn.
import type { Delta } from '../language/events.ts'
import type { AnswerItem, CallItem, CallView } from './view.ts'

type LivePiece = { kind: 'text' | 'thinking'; texts: string[] } | { kind: 'call'; id: string }
type OpenCall = Pick<CallView, 'id' | 'name' | 'form'> & { texts: string[] }

let lives = 0

export class LiveStep {
  readonly #name = `l${++lives}`
  #pieces: LivePiece[] = []
  readonly #calls = new Map<string, OpenCall>()
  #kept: (AnswerItem | CallItem)[] | undefined

  take(delta: Delta): void {
    this.#kept = undefined
    switch (delta.type) {
      case 'step.started':
      case 'step.reset':
        this.#pieces = []
        this.#calls.clear()
        break
      case 'text':
      case 'thinking': {
        const last = this.#pieces.at(-1)
        if (last?.kind === delta.type) last.texts.push(delta.text)
        else this.#pieces.push({ kind: delta.type, texts: [delta.text] })
        break
      }
      case 'call.opened':
        this.#calls.set(delta.callId, { id: delta.callId, name: delta.name, form: delta.form, texts: [] })
        this.#pieces.push({ kind: 'call', id: delta.callId })
        break
      case 'arguments':
        this.#calls.get(delta.callId)?.texts.push(delta.text)
        break
      default:
    }
  }

  /** The first part of the durable answer keeps the key of the live one, so that a page does not rebuild it. */
  liveKey(seq: number, first: boolean): string {
    return first && this.#pieces.some(piece => piece.kind !== 'call')
      ? `${this.#name}.0`
      : `a${seq}${first ? '' : 'b'}`
  }

  /** At most one object per piece is new since the last call. */
  items(at: number): (AnswerItem | CallItem)[] {
    this.#kept ??= this.#build(at)
    return this.#kept
  }

  #build(at: number): (AnswerItem | CallItem)[] {
    const items: (AnswerItem | CallItem)[] = []
    let answers = 0
    for (const piece of this.#pieces) {
      const last = items.at(-1)
      if (piece.kind === 'call') {
        const call = this.#calls.get(piece.id)
        if (call) items.push({ type: 'call', key: `c${call.id}`, call: writing(call, at) })
        continue
      }
      const text = joinLivePieces(piece.texts)
      if (piece.kind === 'text' && last?.type === 'answer' && last.text === '') last.text = text
      else {
        const words = piece.kind === 'text' ? { thinking: '', text } : { thinking: text, text: '' }
        items.push({ type: 'answer', key: `${this.#name}.${answers++}`, at, ...words })
      }
    }
    return items
  }
}

function writing({ id, name, form, texts }: OpenCall, at: number): CallView {
  const text = joinLivePieces(texts)
  return { id, name, form, text, status: 'writing', events: [], proposedAt: at, attempts: 0, output: '' }
}

/** Joins the pieces and keeps the whole in their place. */
function joinLivePieces(texts: string[]): string {
  if (texts.length > 1) texts.splice(0, texts.length, texts.join(''))
  return texts[0] ?? ''
}
