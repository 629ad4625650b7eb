// Whether the page is as narrow as on a phone, where some parts have another place.
import { useSyncExternalStore } from 'react'

const media = matchMedia('(max-width: 700px)')

function subscribe(listener: () => void): () => void {
  media.addEventListener('change', listener)
  return () => media.removeEventListener('change', listener)
}

export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => media.matches)
}
