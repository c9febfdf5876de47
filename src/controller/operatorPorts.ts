/**
 * TCP ports of the operator in the pods that the controller makes. No listener may ask for one of them: the proxy could
 * not bind it, and whoever may write listeners would take away the probes and metrics of everybody behind the Gateway.
 */
export const operatorPorts = { admin: 15_000, stats: 15_020, readiness: 15_021 } as const;

const uses = new Map<number, string>(Object.entries(operatorPorts).map(([use, port]) => [port, use]));

/** The proxy's own use of a TCP port; undefined where a listener may have it. */
export const operatorUseOf = (port: number): string | undefined => uses.get(port);
