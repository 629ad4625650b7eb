// The conversation as a person reads it: who said what, which calls were made and how they ended. Roles are told apart by
// position and label. It holds only the rows near the viewport, so it may have any length.
import { memo, type ReactElement, type ReactNode, useCallback } from 'react'
import type { InputPart } from '../language/content.ts'
import type { ToolKind } from '../language/tools.ts'
import { printable } from '../lib/text/index.ts'
import { Markdown } from './markdown.tsx'
import { Image } from './output.tsx'
import { Fold, LongText, Time } from './parts.tsx'
import type { QuestionAnswer } from './question.tsx'
import { ToolCall } from './tool-call.tsx'
import type { AnswerItem, CallView, HostedItem, NoteItem, UserItem, ViewItem } from './view.ts'
import { VirtualRows } from './virtual-rows.tsx'

export type ToolLook = { kind?: ToolKind; title?: string }

export type TranscriptProps = {
  items: readonly ViewItem[]
  /** By name: how calls of a tool look. */
  tools?: ReadonlyMap<string, ToolLook> | undefined
  /** What the person is called. Default: User. */
  userName?: string | undefined
  /** What the agent is called, in place of "Model" and the model's name. */
  modelName?: string | undefined
  /** Renders the inside of a call that waits for a person. */
  renderApproval?: ((call: CallView) => ReactNode) | undefined
  /** More in the details of a call. */
  renderDetails?: ((call: CallView) => ReactNode) | undefined
  /** At the end of each row, such as a link to it. */
  renderActions?: ((item: ViewItem) => ReactNode) | undefined
  loadWhole?: ((blob: string) => Promise<string>) | undefined
  /** Answers a question of a running call. */
  onAnswer?: ((call: CallView, question: string, answer: QuestionAnswer) => unknown) | undefined
  selected?: string | undefined
  onSelect?: ((item: ViewItem) => void) | undefined
  target?: { key: string; at: number } | undefined
  /** The key of the item at the top when it appears. Without one it opens at its end. */
  opensAt?: string | undefined
  empty?: ReactNode
  label?: string
}

const itemKey = (item: ViewItem): string => item.key

export function Transcript(props: TranscriptProps): ReactElement {
  const { items, selected } = props
  const render = useCallback(
    (item: ViewItem) => <Row item={item} isSelected={item.key === selected} {...rowProps(props)} />,
    [props, selected],
  )
  return (
    <VirtualRows
      items={items}
      keyOf={itemKey}
      render={render}
      estimate={56}
      label={props.label ?? 'Transcript'}
      className="tw-transcript"
      follow
      target={props.target}
      opensAt={props.opensAt}
      empty={props.empty}
    />
  )
}

type RowProps = Pick<
  TranscriptProps,
  | 'tools'
  | 'userName'
  | 'modelName'
  | 'renderApproval'
  | 'renderDetails'
  | 'renderActions'
  | 'loadWhole'
  | 'onAnswer'
  | 'onSelect'
>

function rowProps(props: TranscriptProps): RowProps {
  const { tools, userName, modelName, renderApproval, renderDetails, renderActions } = props
  const { loadWhole, onAnswer, onSelect } = props
  const renders = { renderApproval, renderDetails, renderActions }
  return { tools, userName, modelName, ...renders, loadWhole, onAnswer, onSelect }
}

const Row = memo(function Row(props: RowProps & { item: ViewItem; isSelected: boolean }): ReactElement {
  const { item, isSelected, renderActions } = props
  return (
    <div
      className={`tw-item tw-item-${item.type}${item.type === 'call' && item.call.parent !== undefined ? ' tw-nested' : ''}${isSelected ? ' tw-selected' : ''}`}
      data-seq={itemSeq(item)}
    >
      <Item {...props} />
      {renderActions && <div className="tw-item-actions">{renderActions(item)}</div>}
    </div>
  )
})

export function itemSeq(item: ViewItem): number | undefined {
  return item.type === 'call' ? item.call.seq : item.seq
}

function Item(props: RowProps & { item: ViewItem; isSelected: boolean }): ReactElement {
  const { item, tools, onSelect } = props
  switch (item.type) {
    case 'user':
      return <UserMessage item={item} name={props.userName} />
    case 'answer':
      return <Answer item={item} name={props.modelName} />
    case 'call': {
      const { call } = item
      const look = tools?.get(call.name)
      return (
        <ToolCall
          call={call}
          kind={look?.kind}
          title={look?.title}
          approval={call.status === 'waiting' ? props.renderApproval?.(call) : undefined}
          loadWhole={props.loadWhole}
          onAnswer={props.onAnswer}
          onSelect={onSelect && (() => onSelect(item))}
        >
          {props.renderDetails?.(call)}
        </ToolCall>
      )
    }
    case 'hosted':
      return <Hosted item={item} />
    case 'system':
      return (
        <Fold label="Instructions" className="tw-system">
          <LongText text={item.text} />
        </Fold>
      )
    case 'note':
      return <NoteLine item={item} />
  }
}

type MessageProps<Item> = { item: Item; name: string | undefined }

function UserMessage({ item, name = 'User' }: MessageProps<UserItem>): ReactElement {
  return (
    <div className="tw-message tw-user">
      <header className="tw-label">
        <span>{name}</span> <Time at={item.at} />
      </header>
      {item.parts.map((part, index) => (
        <Input key={index} part={part} />
      ))}
    </div>
  )
}

function Input({ part }: { part: InputPart }): ReactElement {
  if (part.type === 'text') return <LongText text={part.text} />
  if (part.type === 'image') return <Image url={part.url} alt="Image from the user" />
  return <p className="tw-muted">File {printable(part.name ?? part.mediaType, 100)}</p>
}

function Answer({ item, name }: MessageProps<AnswerItem>): ReactElement {
  const isLive = item.seq === undefined
  return (
    <div className="tw-message tw-answer" aria-busy={isLive}>
      <header className="tw-label">
        <span>{name ?? 'Model'}</span>
        {name === undefined && item.model !== undefined && (
          <span className="tw-muted">{printable(item.model, 60)}</span>
        )}
        {!isLive && <Time at={item.at} />}
      </header>
      {item.thinking !== '' && (
        <Fold label={isLive && item.text === '' ? 'Thinking…' : 'Thinking'} className="tw-thinking">
          <LongText text={item.thinking} />
        </Fold>
      )}
      {item.text !== '' && (
        <div className="tw-prose">
          <Markdown text={item.text} isLive={isLive} />
          {isLive && <span className="tw-caret" aria-hidden="true" />}
        </div>
      )}
      {item.warnings?.map(words => (
        <p key={words} className="tw-muted">
          {printable(words, 300)}
        </p>
      ))}
    </div>
  )
}

function Hosted({ item }: { item: HostedItem }): ReactElement {
  return (
    <p className="tw-muted tw-hosted">
      The vendor ran {printable(item.part.tool, 80)}: {printable(item.part.summary, 400)}
    </p>
  )
}

function NoteLine({ item }: { item: NoteItem }): ReactElement {
  return (
    <p className={`tw-note tw-note-${item.tone}`}>
      <span>{printable(item.text, 600)}</span> <Time at={item.at} />
    </p>
  )
}
