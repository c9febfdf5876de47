/**
 * Makes a thing that policies share, over reloads too.
 * @returns the thing of a process, found by an object that the process has once
 */
export function oncePerProcess<Shared>(make: () => Shared): (owner: object) => Shared {
  const all = new WeakMap<object, { readonly shared: Shared }>();
  return (owner) => {
    let found = all.get(owner);
    if (found === undefined) {
      found = { shared: make() };
      all.set(owner, found);
    }
    return found.shared;
  };
}
