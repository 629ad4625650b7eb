// A phone has no room for all tabs of a row, which scrolls there. The chosen one is brought into sight.
import { useCallback } from 'react'

/** For the row's `ref`. `current` is the name of the chosen tab. */
export function useTabInSight(current: string): (row: HTMLElement | null) => void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is called again when another tab is chosen
  return useCallback(
    (row: HTMLElement | null) => {
      const tab = row?.querySelector('[aria-current], [aria-selected="true"]')
      tab?.scrollIntoView({ block: 'nearest', inline: 'center' })
    },
    [current],
  )
}
