// Keys of a whole page: they do nothing with a modifier, while a person types, or while a dialog is open.
import { useEffect, useRef } from 'react'
import { isTyping } from '../../../src/react/is-typing.ts'

export function usePageKeys(onKey: (key: string, event: KeyboardEvent) => void): void {
  const latest = useRef(onKey)
  latest.current = onKey
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey, target } = event
      if (ctrlKey || metaKey || altKey || (target && isTyping(target))) return
      if (!document.querySelector('dialog[open]')) latest.current(key, event)
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}
