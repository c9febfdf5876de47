/**
 * Binds on one address, or on all of them: IPv4 alone where IPv6 is off.
 * @throws what `bind` does: the system's error, as EADDRINUSE
 */
export async function bindOn<Bound>(
  address: string | undefined,
  bind: (host: string) => Promise<Bound>,
): Promise<Bound> {
  try {
    return await bind(address ?? '::');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (address !== undefined || (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL')) throw error;
    return await bind('0.0.0.0');
  }
}
