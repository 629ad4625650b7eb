// Shapes: one per status, one per kind of tool. They are inline SVG without styles, drawn in the colour of the text around
// them, and hidden from screen readers: a word always stands beside them.
import type { ReactElement } from 'react'
import type { ToolKind } from '../language/tools.ts'
import type { CallStatus } from './view.ts'

export type Shape = 'ring' | 'pause' | 'check' | 'cross' | 'slash' | 'question' | 'square' | 'dashed' | 'dot'

export const statusShapes: Readonly<Record<CallStatus, Shape>> = {
  writing: 'ring',
  proposed: 'ring',
  client: 'pause',
  waiting: 'pause',
  allowed: 'ring',
  running: 'ring',
  ok: 'check',
  error: 'cross',
  timeout: 'cross',
  invalid: 'slash',
  denied: 'slash',
  unknown: 'question',
  cancelled: 'square',
  abandoned: 'dashed',
}

const shapePaths: Readonly<Record<Shape, ReactElement>> = {
  ring: <path d="M8 2a6 6 0 1 1-5.2 3" />,
  pause: <path d="M5.5 3v10M10.5 3v10" />,
  check: <path d="M3 8.5 6.5 12 13 4.5" />,
  cross: <path d="m4 4 8 8M12 4l-8 8" />,
  slash: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="m4 12 8-8" />
    </>
  ),
  question: <path d="M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.6 8 9 8 10M8 12.8v.4" />,
  square: <rect x="3.5" y="3.5" width="9" height="9" rx="1" />,
  dashed: <rect x="3.5" y="3.5" width="9" height="9" rx="1" strokeDasharray="2.5 2" />,
  dot: <circle cx="8" cy="8" r="3" fill="currentColor" />,
}

export function ShapeIcon({ shape }: { shape: Shape }): ReactElement {
  return <Svg className={`tw-shape tw-shape-${shape}`}>{shapePaths[shape]}</Svg>
}

const kindPaths: Readonly<Record<ToolKind, ReactElement>> = {
  read: <path d="M4 2h5l3 3v9H4zM9 2v3h3M6 8h4M6 11h4" />,
  edit: <path d="m3 13 .7-3L11 2.8l2.2 2.2L6 12.3zM9.5 4.3l2.2 2.2" />,
  delete: <path d="M3 4h10M6 4V2.5h4V4M4.5 4l.6 9.5h5.8l.6-9.5M6.7 7v4M9.3 7v4" />,
  move: <path d="M2 8h11M9.5 4.5 13 8l-3.5 3.5" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  execute: <path d="M2.5 3h11v10h-11zM5 6.5 7 8.2 5 10M8.5 10.2H11" />,
  think: (
    <path d="M8 2.2a4 4 0 0 1 2.4 7.2c-.5.4-.7.8-.7 1.3H6.3c0-.5-.2-.9-.7-1.3A4 4 0 0 1 8 2.2M6.5 13.3h3" />
  ),
  fetch: (
    <>
      <circle cx="8" cy="8" r="5.8" />
      <path d="M2.2 8h11.6M8 2.2c3.4 3.6 3.4 8 0 11.6-3.4-3.6-3.4-8 0-11.6" />
    </>
  ),
  switch_mode: <path d="M3 5h8M8.5 2.5 11 5 8.5 7.5M13 11H5M7.5 8.5 5 11l2.5 2.5" />,
  other: <path d="M8 2.2 13 5v6l-5 2.8L3 11V5zM3 5l5 2.8L13 5M8 7.8v6" />,
}

export function KindIcon({ kind = 'other' }: { kind?: ToolKind | undefined }): ReactElement {
  return <Svg className={`tw-kind tw-kind-${kind}`}>{kindPaths[kind]}</Svg>
}

const actionPaths = {
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M3.5 10.5h-1v-8h8v1" />
    </>
  ),
  close: shapePaths.cross,
  more: <path d="M3.2 8h.1M8 8h.1M12.8 8h.1" strokeWidth="2.2" />,
  link: (
    <path d="M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2-2a2.6 2.6 0 0 0-3.7-3.7l-.7.7M9.2 6.8a2.6 2.6 0 0 0-3.7 0l-2 2a2.6 2.6 0 0 0 3.7 3.7l.7-.7" />
  ),
  settings: (
    <path d="M2.5 5h6M12 5h1.5M2.5 11h1.5M7.5 11h6M8.5 5a1.75 1.75 0 1 0 3.5 0 1.75 1.75 0 1 0-3.5 0M4 11a1.75 1.75 0 1 0 3.5 0A1.75 1.75 0 1 0 4 11" />
  ),
  fold: <path d="M2.5 3h11v10h-11zM6.5 3v10" />,
  theme: <path d="M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11" />,
  timeline: <path d="M2.5 4h5M5.5 8h7M9.5 12h4" />,
  search: kindPaths.search,
  keys: <path d="M2 4.5h12v7H2zM4.5 7h.1M7 7h.1M9.5 7h.1M12 7h.1M5 9.5h6" />,
} as const

export type ActionName = keyof typeof actionPaths

/** The picture of something that a button does. */
export function ActionIcon({ name }: { name: ActionName }): ReactElement {
  return <Svg className="tw-action">{actionPaths[name]}</Svg>
}

export function Svg({ className, children }: { className: string; children: ReactElement }): ReactElement {
  return (
    <svg
      className={className}
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  )
}
