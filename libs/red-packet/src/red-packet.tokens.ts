/** Injection token of the module's options after the checks. */
export const RED_PACKET_OPTIONS = Symbol('luanest:red-packet-options');
