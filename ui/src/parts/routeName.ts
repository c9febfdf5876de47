/** The name of a route in its id `bind/listener/route`; the name may have slashes. */
export const routeName = (id: string): string => id.split('/').slice(2).join('/') || id;
