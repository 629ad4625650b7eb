// The AI SDK's own chat, without a framework around it: its state is a plain list, everything else is theirs.
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  type UIMessage,
  type UIMessageChunk,
} from 'ai'
import type { Rig, Who } from '../rig.ts'

class State implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined
  messages: UIMessage[]

  constructor(messages: UIMessage[]) {
    this.messages = messages
  }

  pushMessage(message: UIMessage): void {
    this.messages = [...this.messages, message]
  }

  popMessage(): void {
    this.messages = this.messages.slice(0, -1)
  }

  replaceMessage(index: number, message: UIMessage): void {
    this.messages = this.messages.with(index, structuredClone(message))
  }

  snapshot<T>(thing: T): T {
    return structuredClone(thing)
  }
}

/** With the settings of an application, and nothing recorded. */
export class PlainChat extends AbstractChat<UIMessage> {
  constructor(init: ChatInit<UIMessage>) {
    super({ ...init, state: new State(init.messages ?? []) })
  }
}

/** `onAnswer`: called when an answer begins. */
type ChatOptions = { body?: object; who?: Who; agent?: string; onAnswer?: () => void }

export class Chat extends AbstractChat<UIMessage> {
  /** Every chunk that arrived, in order, before the SDK looked at it. */
  readonly chunks: UIMessageChunk[]
  /** The headers of every answer. */
  readonly answers: Response[]

  constructor(at: Rig, init: ChatInit<UIMessage> & ChatOptions = {}) {
    const chunks: UIMessageChunk[] = []
    const answers: Response[] = []
    const { messages = [], body, who, agent = 'helper', onAnswer, ...rest } = init
    super({
      ...rest,
      transport: new Recorder(chunks, {
        api: `${at.url}/ui/${agent}`,
        headers: at.headers(who),
        ...(body && { body }),
        fetch: async (input, options) => {
          const answer = await fetch(input, options)
          answers.push(answer)
          onAnswer?.()
          return answer
        },
      }),
      state: new State(messages),
    })
    this.chunks = chunks
    this.answers = answers
  }

  get types(): string[] {
    return this.chunks.map(({ type }) => type)
  }
}

class Recorder extends DefaultChatTransport<UIMessage> {
  readonly #chunks: UIMessageChunk[]

  constructor(chunks: UIMessageChunk[], options: ConstructorParameters<typeof DefaultChatTransport>[0]) {
    super(options)
    this.#chunks = chunks
  }

  protected override processResponseStream(
    stream: ReadableStream<Uint8Array<ArrayBufferLike>>,
  ): ReadableStream<UIMessageChunk> {
    const chunks = this.#chunks
    return super.processResponseStream(stream).pipeThrough(
      new TransformStream({
        transform(chunk, controller) {
          chunks.push(structuredClone(chunk))
          controller.enqueue(chunk)
        },
      }),
    )
  }
}

/** What a message shows, in short. */
export function shown({ parts }: UIMessage): string[] {
  return parts.flatMap(part => {
    if (part.type === 'text' || part.type === 'reasoning') return [`${part.type}: ${part.text}`]
    if (part.type.startsWith('tool-') && 'state' in part) {
      const output = 'output' in part && part.output !== undefined ? ` ${JSON.stringify(part.output)}` : ''
      const error = 'errorText' in part && part.errorText !== undefined ? ` ${part.errorText}` : ''
      return [`${part.type} ${part.state}${output}${error}`]
    }
    return []
  })
}
