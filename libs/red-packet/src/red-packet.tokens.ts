/** Injection token of the resolved options. */
export const RED_PACKET_OPTIONS = Symbol('luanest:red-packet-options');
