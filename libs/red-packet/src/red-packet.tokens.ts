/** Injection token of the resolved options, for the module, the guard and the controller. */
export const RED_PACKET_OPTIONS = Symbol('luanest:red-packet-options');
