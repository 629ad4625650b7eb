// A modal dialog: the browser's own, which keeps the focus inside. Escape closes it: `cancel` comes with the key, while `close`
// comes a task later, when a reload or the next key may have come in between.
import { type ReactElement, type ReactNode, useLayoutEffect, useRef } from 'react'

type DialogProps = { label: string; onClose: () => void; children: ReactNode; className?: string }

export function Dialog({ label, onClose, children, className = '' }: DialogProps): ReactElement {
  const box = useRef<HTMLDialogElement>(null)
  // In the commit that removes the dialog: a passive effect could take the focus back from what the next key gave it to.
  useLayoutEffect(() => {
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
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
      onClose={onClose}
      onClick={event => {
        if (event.target === box.current) onClose()
      }}
    >
      {children}
    </dialog>
  )
}
