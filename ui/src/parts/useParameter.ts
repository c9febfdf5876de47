import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';

/** The time without a change after which the address gets the value. */
const settleMs = 300;

/**
 * A value that stands in the query of the address, so that a reload and a shared address keep it. The usual value does
 * not stand there.
 */
export function useParameter(name: string, usual = ''): readonly [string, (value: string) => void] {
  const [query, setQuery] = useSearchParams();
  const [value, setValue] = useState(query.get(name) ?? usual);
  const [settled] = useDebouncedValue(value, settleMs);
  useEffect(() => {
    const now = new URLSearchParams(location.search);
    if ((now.get(name) ?? usual) === settled) return;
    if (settled === usual) now.delete(name);
    else now.set(name, settled);
    setQuery(now, { replace: true });
    // The setter is a new function at each change of the address.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [name, settled, usual]);
  return [value, setValue];
}
