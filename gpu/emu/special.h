/* The special registers that are emulated. Clocks count warp instructions. */
#ifndef EMU_SPECIAL_H
#define EMU_SPECIAL_H

#define SPECIALS(X)                                                                                          \
    X(TID_X, "%tid.x", 32)                                                                                   \
    X(TID_Y, "%tid.y", 32)                                                                                   \
    X(TID_Z, "%tid.z", 32)                                                                                   \
    X(NTID_X, "%ntid.x", 32)                                                                                 \
    X(NTID_Y, "%ntid.y", 32)                                                                                 \
    X(NTID_Z, "%ntid.z", 32)                                                                                 \
    X(CTAID_X, "%ctaid.x", 32)                                                                               \
    X(CTAID_Y, "%ctaid.y", 32)                                                                               \
    X(CTAID_Z, "%ctaid.z", 32)                                                                               \
    X(NCTAID_X, "%nctaid.x", 32)                                                                             \
    X(NCTAID_Y, "%nctaid.y", 32)                                                                             \
    X(NCTAID_Z, "%nctaid.z", 32)                                                                             \
    X(LANEID, "%laneid", 32)                                                                                 \
    X(WARPID, "%warpid", 32)                                                                                 \
    X(NWARPID, "%nwarpid", 32)                                                                               \
    X(SMID, "%smid", 32)                                                                                     \
    X(NSMID, "%nsmid", 32)                                                                                   \
    X(GRIDID, "%gridid", 64)                                                                                 \
    X(LANEMASK_EQ, "%lanemask_eq", 32)                                                                       \
    X(LANEMASK_LE, "%lanemask_le", 32)                                                                       \
    X(LANEMASK_LT, "%lanemask_lt", 32)                                                                       \
    X(LANEMASK_GE, "%lanemask_ge", 32)                                                                       \
    X(LANEMASK_GT, "%lanemask_gt", 32)                                                                       \
    X(CLOCK, "%clock", 32)                                                                                   \
    X(CLOCK_HI, "%clock_hi", 32)                                                                             \
    X(CLOCK64, "%clock64", 64)                                                                               \
    X(GLOBALTIMER, "%globaltimer", 64)                                                                       \
    X(GLOBALTIMER_LO, "%globaltimer_lo", 32)                                                                 \
    X(GLOBALTIMER_HI, "%globaltimer_hi", 32)                                                                 \
    X(DYNAMIC_SMEM, "%dynamic_smem_size", 32)                                                                \
    X(TOTAL_SMEM, "%total_smem_size", 32)                                                                    \
    X(CLUSTERID_X, "%clusterid.x", 32)                                                                       \
    X(CLUSTERID_Y, "%clusterid.y", 32)                                                                       \
    X(CLUSTERID_Z, "%clusterid.z", 32)                                                                       \
    X(NCLUSTERID_X, "%nclusterid.x", 32)                                                                     \
    X(NCLUSTERID_Y, "%nclusterid.y", 32)                                                                     \
    X(NCLUSTERID_Z, "%nclusterid.z", 32)                                                                     \
    X(CLUSTER_CTAID_X, "%cluster_ctaid.x", 32)                                                               \
    X(CLUSTER_CTAID_Y, "%cluster_ctaid.y", 32)                                                               \
    X(CLUSTER_CTAID_Z, "%cluster_ctaid.z", 32)                                                               \
    X(CLUSTER_NCTAID_X, "%cluster_nctaid.x", 32)                                                             \
    X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y", 32)                                                             \
    X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z", 32)                                                             \
    X(CLUSTER_CTARANK, "%cluster_ctarank", 32)                                                               \
    X(CLUSTER_NCTARANK, "%cluster_nctarank", 32)

typedef enum {
#define X(sym, name, bits) SP_##sym,
    SPECIALS(X)
#undef X
        SP_COUNT
} special;

#endif
