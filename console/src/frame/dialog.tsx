// A modal dialog: the browser's own, which keeps the focus inside and closes with Escape.
import { type ReactElement, type ReactNode, useEffect, useRef } from 'react'

type DialogProps = { label: string; onClose: () => void; children: ReactNode; className?: string }

export function Dialog({ label, onClose, children, className = '' }: DialogProps): ReactElement {
  const box = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = box.current
    const before = document.activeElement
    if (!dialog?.open) dialog?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it by keyboard
    <dialog
      ref={box}
      className={`dialog ${className}`}
      aria-label={label}
      onClose={onClose}
      onClick={event => {
        if (event.target === box.current) onClose()
      }}
    >
      {children}
    </dialog>
  )
}
